# What is known of every rule of several outputs, from the rows of table.py (setup.py).
from .lanes cimport WIDTH, Lanes

include "many_outputs_rules.pxi"
