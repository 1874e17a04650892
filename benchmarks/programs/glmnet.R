# Rscript glmnet.R FOLDER ROWS FEATURES STRENGTH POINTS ALPHA THRESH: the seconds of the processor
# and the weights go to the file "found".
suppressMessages(library(glmnet))
given <- commandArgs(TRUE)
setwd(given[1])
number <- as.numeric(given[-1])
read <- function(name, what, size) readBin(name, what, file.size(name) / size)
values <- read("values", "double", 8)
X <- if (file.exists("starts")) {
  new("dgCMatrix", i = read("indices", "integer", 4), p = read("starts", "integer", 4),
      x = values, Dim = as.integer(number[1:2]))
} else matrix(values, number[1], number[2])
y <- read("labels", "double", 8)
glmnet.control(fdev = 0, devmax = 1)
lambdas <- number[3] * 100^seq(1, 0, length.out = number[4])
began <- proc.time()
model <- glmnet(X, y, family = "binomial", alpha = number[5], lambda = lambdas,
                standardize = FALSE, intercept = FALSE, thresh = number[6], maxit = 1e7)
seconds <- sum((proc.time() - began)[1:2])
writeBin(c(seconds, as.numeric(model$beta[, ncol(model$beta)])), "found")
