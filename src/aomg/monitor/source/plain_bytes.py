"""Opens files of text as plain bytes, decompressed as Hadoop would: by the end of the name."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

ARROW_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""Endings that need no Spark, with Arrow's names of the codecs."""
HADOOP_CODECS = (".deflate", ".lz4", ".snappy")


def codec_of(file: Path) -> str | None:
    """How a file is compressed, by the end of its name as in Hadoop; None if it is not."""
    suffix = file.suffix
    return suffix if suffix in ARROW_CODECS or suffix in HADOOP_CODECS else None


@contextmanager
def opened(file: Path) -> Iterator[Callable[[int], bytes]]:
    """A function that reads the next bytes of a file, decompressed."""
    codec = codec_of(file)
    if codec is None:
        with file.open("rb", buffering=0) as raw:
            yield raw.read
    elif codec in ARROW_CODECS:
        with pa.OSFile(str(file)) as raw, pa.CompressedInputStream(raw, ARROW_CODECS[codec]) as stream:
            yield stream.read
    else:
        with _hadoop_stream(file) as stream:
            yield lambda size: bytes(stream.readNBytes(size))


@contextmanager
def _hadoop_stream(file: Path) -> Iterator[Any]:
    """A Java stream of a file that only Hadoop can decompress."""
    from py4j.protocol import Py4JError
    from pyspark.sql import SparkSession

    spark: Any = SparkSession.active()
    hadoop = spark.sparkContext._jvm.org.apache.hadoop
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    path = hadoop.fs.Path(file.as_uri())
    codec = hadoop.io.compress.CompressionCodecFactory(configuration).getCodec(path)
    stream = codec.createInputStream(path.getFileSystem(configuration).open(path))
    try:
        yield stream
    except Py4JError as error:
        raise OSError(f"{file} cannot be decompressed") from error
    finally:
        stream.close()
