#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a port of the cluster's network reachable at a loopback port of this machine.

  publish.py NETNS PORT [PUBLISHED_PORT]

NETNS: a file of a network namespace. Prints the port of this machine: PUBLISHED_PORT, or a free one
if that is in use.
"""

import asyncio
import ctypes
import os
import socket
import sys

HOST = "127.0.0.1"
CLONE_NEWNET = 0x40000000
CHUNK = 64 * 1024


def listen(port):
    for candidate in (port, 0):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, candidate))
            return listener
        except OSError:
            listener.close()
    raise OSError("no free port")


def enter(netns):
    """The listener stays in the network where it was created."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(netns, "rb") as file:
        if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), netns)


async def copy(reader, writer):
    try:
        while chunk := await reader.read(CHUNK):
            writer.write(chunk)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def relay(reader, writer, port):
    try:
        inner_reader, inner_writer = await asyncio.open_connection(HOST, port)
    except OSError:
        writer.close()
        return
    await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))


async def serve(listener, port):
    server = await asyncio.start_server(lambda r, w: relay(r, w, port), sock=listener)
    print(listener.getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


def main():
    netns, port = sys.argv[1], int(sys.argv[2])
    listener = listen(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    enter(netns)
    asyncio.run(serve(listener, port))


main()
