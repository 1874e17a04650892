"""A replication report in the form that ReScience C asks for; ``make article`` builds it."""
