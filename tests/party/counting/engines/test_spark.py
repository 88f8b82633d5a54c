"""One session for everything: it takes longer to start than all that is asked."""

import inspect
import shutil

import pytest

from dpmosaic.party.counting.engines.kinds import Kind
from dpmosaic.party.counting.engines.remote import Place
from support.counting import CountingContract

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'dpmosaic[spark]'")
pytestmark = pytest.mark.skipif(
    shutil.which("java") is None, reason="there is no Java; apt-get install default-jre-headless"
)

TYPES = {
    Kind.WHOLE: "bigint",
    Kind.SINGLE: "float",
    Kind.DOUBLE: "double",
    Kind.DECIMAL: "decimal(20,3)",
    Kind.BOOLEAN: "boolean",
    Kind.TEXT: "string",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp_ntz",
}


class OverSpark(CountingContract):
    loads = False
    composes = False
    every = 8

    def __init__(self, session):
        self.session = session
        self.opened = []

    def close(self):
        while self.opened:
            self.opened.pop().close()

    def engine(self, name):
        from dpmosaic.party.counting.engines.spark import SparkEngine

        return SparkEngine(Place(table=name, order_by="place"), "local[2]")

    def write(self, name, written):
        names = ", ".join(f"`{column}` {TYPES[kind]}" for column, (kind, _) in written.items())
        rows = [
            (n, *row) for n, row in enumerate(zip(*(values for _, values in written.values()), strict=True))
        ]
        self.session.createDataFrame(rows, f"place bigint, {names}").createOrReplaceTempView(name)

    def ask_slowly(self, engine):
        return engine.run("SELECT count(*) FROM range(100000000000) WHERE hash(id) % 7 = 1")


@pytest.fixture(scope="module")
def session():
    options = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "OFF",
    }
    builder = pyspark.sql.SparkSession.builder.master("local[2]")
    for key, value in options.items():
        builder = builder.config(key, value)
    made = builder.getOrCreate()
    yield made
    made.stop()


def test_spark_keeps_the_contract(session):
    contract = OverSpark(session)
    for name, test in inspect.getmembers(contract, inspect.ismethod):
        if name.startswith("test_"):
            for arguments in _arguments(test):
                test(**arguments)
                contract.close()


def _arguments(test):
    """Those that a test is run with, as pytest runs it."""
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    return [{mark.args[0]: value} for mark in marks for value in mark.args[1]] or [{}]
