# The numbers of the rules, from the rows of table.py.
include "rule_codes.pxi"
