"""The update rules, one file a rule: the parameters of each rule and the limits of its rates."""
