"""The file `policy.toml` of a new party, which allows nothing."""

from __future__ import annotations

from .console import TEMPLATE as CONSOLE_TEMPLATE
from .workers import TEMPLATE as WORKERS_TEMPLATE

_ROWS_TEMPLATE = """\
# What this institution allows. Everything is closed until somebody opens it here.
# The party reads this file when it starts.

[source]
# Which values each attribute may take. Public: `dpmosaic domain infer` drafts one, and somebody has to review
# every entry that it marks with "reviewed": false.
domain = "domain.json"
# One of these. Paths start at this folder.
# .csv, .csv.gz, .tsv, .tsv.gz or .parquet, its rows in the order that the slice's parties agreed on:
# file = "rows.csv"
# What DuckDB can read; ORDER BY is needed:
# query = "SELECT * FROM read_parquet('rows/*.parquet') ORDER BY id"
# With query, a file of DuckDB, or of SQLite with DuckDB's extension, opened read-only:
# database = "rows.duckdb"
# A table or a query in an engine that counts where the rows live: "postgres" or "spark" (with the extra of
# this name), or "adbc:" and a driver such as "adbc:snowflake". The connection is a secret, and stands in an
# environment variable, env:NAME, or in a file with mode 600, file:PATH. order_by names a column that gives
# the rows one order, which only releases with other parties of the slice need.
# engine = "postgres"
# table = "schema.name"
# connection = "env:WAREHOUSE"
# order_by = "id"
# timeout_s = 3600               # a statement that takes longer is ended, with any source
# What another installed package brings, with its options:
# kind = "NAME"
# options = { key = "value" }
# The column that names the person of each row, written alike by all parties of a slice. Only keyed digests of
# it leave the party. Rows of one person beyond max_rows_per_person are left out; with "all" none is: each row
# of a person counts in part, and the codes of all rows are held in memory.
# key = "patient_id"
# To align rows: the columns that identify people, each under the name that all parties agreed on. Without
# this line it is the key, under the name key. A row may lack them. Only keyed tokens of them leave the party.
# None of these columns can be in the domain.
# identifiers = { national_id = "nid", surname = "name", born = "date_of_birth" }

# In place of [source], related tables of the same people, each with one of the sources above:
#   [tables.stays]
#   domain = "stays.json"        # without one, the table holds keys alone, such as a list of people
#   file = "stays.parquet"
#   key = "stay"                 # if rows of other tables belong to its rows
#   belongs_to = { id = "patients" }
#   order = "admitted"
#   drop_incomplete = true       # leave out rows without a key, a parent or a value of the order

[records]
# One record is one row of one slice. Without same_as, the party takes part only alone.
# same_as = []                   # the pinned parties that hold other columns of the same people; [] for none
together = false                 # only if all of them take part, so that every ledger counts what is spent
# order = "guaranteed"           # without a key: their rows come in the same order, which nobody compares

[serve]
listen = "127.0.0.1:7443"        # host:port; the curator's machine must reach it
# metrics = "127.0.0.1:9464"     # for Prometheus; needs pip install 'dpmosaic[metrics]'
# proxy = "http://proxy:3128"    # with --attach or --through: dials the curator through this HTTP proxy
# proxy_login = "file:proxy.txt" # its USER:PASSWORD: in a file with mode 600, or in a variable, env:NAME
# authorities = "authority.pem"  # with --through: who may issue certificates, as of a proxy that inspects
# keep_log_days = 400            # of shareable.log and console.log; without it, their lines are never deleted

[direct]
# Openings go to and from these pinned parties without the curator, sealed all the same, if both say so.
# send = { other = "other.example.org:7443" }   # the party's machine must reach it
# take = ["other"]                              # needs listen in [serve] where they reach it

"""
_NOTIFY_TEMPLATE = """
# [notify]                       # of releases that wait, budget, certificate, health
# command = ["/usr/local/bin/tell-me"]  # reads a notice as JSON on its input; it contains no data
# webhook = "https://host/path"  # or: the notice is posted there
# budget_below = 0.2             # share of lifetime_rho that is left
"""
_LIMITS_TEMPLATE = """
[policy]
protocols = []                   # "masked"; "indicator", "trusted": see docs/protocols.md before you add one
adjacencies = []                 # "zero-out", "replace-one"; over aligned rows also "add-remove"
max_release_rho = 0.0            # upper limit of one release, zCDP; epsilon 1 at delta 1e-9 is about 0.02
lifetime_rho = 0.0               # upper limit of all releases together, zCDP
max_alignment_rho = 0.0          # upper limit of one alignment of rows, zCDP; above 0 it needs a key or
                                 # identifiers, and the number of rows is private as well
max_match_keys = 1               # of an alignment; with several the curator sees which rows agree in which
max_labels_delta = 0.0           # of one release: chance to state a text that one person alone has, where the
                                 # domain leaves categories open; such as 1e-9
# lifetime_labels_delta = 1e-8   # the same of all releases together; without it as of one release
max_cells = 0                    # upper limit of the cells of one marginal, such as 1000000
min_records = 100                # with fewer rows the party takes part in nothing
max_rows_per_person = 1          # needs a key; a release has to cover, and charge, at least so many; "all": a
                                 # release has to be of people with all rows, of whom each counts as one
# tables = ["stays"]             # of related tables: those of which releases may be
min_parties = 1                  # least number of parties with different identities
min_tolerated = 1                # masked: so many other parties may collude and see no more than promised
veto_evaluators = []             # masked: parties that may not compute scores from shares
dealers = []                     # masked: who may deal the randomness: names, or "curator" for trials
min_dealers = 1                  # masked: with 3, no dealer alone knows what hides the rows
# may_deal = true                # masked: deal for slices that this party is no party of
# require_check = true           # masked: the other parties must prove that they open each record once
max_memory_mb = 2048             # of one release: products and scores; a call needs up to 100 more
max_disk_mb = 16384              # of one release: openings, in TMPDIR, and codes of rows, in .codes
max_cpu_seconds = 36000          # of one release: time to compute
max_queries = 10000              # of one release
max_active_releases = 8          # so many times memory and disk of one; deliveries of others come again
# allow_unreviewed = true        # entries of the domain that were read from the rows: for trials only
approval = true                  # a person approves every release: dpmosaic party approve
# approvers = ["A. Meier", "B. Rossi", "C. Weber"]  # who may; without it, anybody at the party's folder
# approvals = 2                  # so many different people approve each release

# [quotas]                       # beside lifetime_rho; a year is a calendar year in UTC
# yearly_rho = 0.01              # upper limit of what all releases cost in one year, zCDP
# [quotas.curators.hub]          # of the pinned curator hub; with such a section, others are refused
# yearly_rho = 0.005
# lifetime_rho = 0.02
"""
TEMPLATE = _ROWS_TEMPLATE + WORKERS_TEMPLATE + _NOTIFY_TEMPLATE + CONSOLE_TEMPLATE + _LIMITS_TEMPLATE
