"""Data in parallel: a process writes rows that only another process has read."""

import pytest

pytest.importorskip("torch", reason="torch is not installed: make test-torch runs these tests")

import torch
import torch.distributed
import torch.multiprocessing

from lazynet.torch import LazyDecay


def train(model, optimizer, rank=0, world=1):
    for k in range(20):
        optimizer.zero_grad()
        ids = torch.tensor([k % 7, k % 5 + 10])[rank::world]
        (model(ids).square().sum() * world).backward()  # the processes take the mean
        optimizer.step()


def begun():
    torch.manual_seed(0)
    embedding = torch.nn.Embedding(30, 2, sparse=True, dtype=torch.float64)
    optimizer = torch.optim.Adagrad(embedding.parameters(), lr=0.1)
    return embedding, optimizer, LazyDecay(embedding, optimizer, l1=0.01, l2=0.2)


def train_in_parallel(rank, folder):
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2
    )
    embedding, optimizer, decay = begun()
    train(torch.nn.parallel.DistributedDataParallel(embedding), optimizer, rank, 2)
    assert decay.flushes == 0
    torch.save(embedding.weight.detach(), f"{folder}/{rank}")
    torch.distributed.destroy_process_group()


def test_two_processes_have_the_rows_of_one(tmp_path):
    torch.multiprocessing.spawn(train_in_parallel, (str(tmp_path),), nprocs=2)
    embedding, optimizer, _ = begun()
    train(embedding, optimizer)
    first, second = (torch.load(tmp_path / name) for name in "01")
    torch.testing.assert_close(first, embedding.weight.detach(), rtol=0, atol=1e-14)
    assert torch.equal(first, second)
