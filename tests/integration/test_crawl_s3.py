"""Feeds on a local S3 server."""

from __future__ import annotations

import asyncio
import io
import json
from types import SimpleNamespace

import pytest
from crawling import command
from services import need
from sites import PLAIN

from llmsspider.output.feeds import StagedS3FeedStorage


@pytest.fixture
def bucket():
    """An S3 server on 127.0.0.1 with the bucket `docs`: its client and its address."""
    need("S3")
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    client = boto3.client(
        "s3",
        endpoint_url=url,
        aws_access_key_id="a",
        aws_secret_access_key="b",
        region_name="us-east-1",
    )
    client.create_bucket(Bucket="docs")
    yield client, url
    client.close()
    server.stop()


def test_a_feed_is_uploaded(serve, bucket, tmp_path):
    client, endpoint = bucket
    site = serve(PLAIN)
    settings = {
        "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1",
        "LLMS_DATA_DIR": str(tmp_path / "store"),
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_REGION_NAME": "us-east-1",
    }

    def crawl(*options):
        given = (part for name, value in settings.items() for part in ("-s", f"{name}={value}"))
        return command("crawl", "docs", "-a", f"url={site.url}/", *given, *options, cwd=tmp_path)

    def stored(name):
        body = client.get_object(Bucket="docs", Key=name)["Body"].read()
        return [json.loads(line)["url"] for line in body.splitlines()]

    batches = (
        "-O",
        "s3://docs/site-%(batch_id)d.jsonl:jsonlines",
        "-s",
        "FEED_EXPORT_BATCH_ITEM_COUNT=2",
    )
    first = crawl(*batches)
    assert first.exit_code == 0, first.log
    assert len(stored("site-1.jsonl")) == 2
    both = stored("site-1.jsonl") + stored("site-2.jsonl")
    assert sorted(both) == sorted(site.url + path for path in PLAIN)


def test_nothing_is_uploaded_when_the_crawl_did_not_end_by_itself(bucket):
    client, endpoint = bucket
    client.put_object(Bucket="docs", Key="site.jsonl", Body=b"yesterday")
    storage = StagedS3FeedStorage(
        "s3://docs/site.jsonl", "a", "b", endpoint_url=endpoint, region_name="us-east-1"
    )
    storage.run = SimpleNamespace(
        succeeded=False, outputs=SimpleNamespace(undelivered=[]), ended=asyncio.Event()
    )
    storage.run.ended.set()
    assert storage.store(io.BytesIO(b"half of it")) is None
    storage.s3_client.close()
    assert client.get_object(Bucket="docs", Key="site.jsonl")["Body"].read() == b"yesterday"
    assert storage.run.outputs.undelivered == ["s3://docs/site.jsonl: not uploaded"]
