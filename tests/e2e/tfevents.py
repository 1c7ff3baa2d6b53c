#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Reads TensorBoard's event files by their definition alone (TFRecord frames, tensorflow/core/util/event.proto), and evaluates an
expression over what they hold. A CRC that is wrong, a file that ends within a frame or begins without a version is an error.

    tfevents.py FOLDER EXPRESSION

S: {tag: [(step, value), ...]}; T: {tag: text}; H: {tag: [(step, {min, max, num, sum, limit, bucket}), ...]};
L: the custom-scalars layout, [(category, [(title, [tag, ...]), ...]), ...]; E: [(kind, step), ...] of all events in order;
F: files by name; D: what differs(FILE, OF=None, X=1) says.
"""
import glob
import os
import struct
import sys

TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    TABLE.append(n)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for b in data:
        crc = crc >> 8 ^ TABLE[(crc ^ b) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(data, at):
    v = shift = 0
    while True:
        v |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return v, at
        shift += 7


def message(data):
    """Fields of a message: {number: [value, ...]}."""
    out, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            v, at = varint(data, at)
        elif key & 7 == 2:
            n, at = varint(data, at)
            assert at + n <= len(data), "a field beyond its message"
            v, at = bytes(data[at:at + n]), at + n
        else:
            n = {1: 8, 5: 4}[key & 7]
            v, at = struct.unpack("<d" if n == 8 else "<f", data[at:at + n])[0], at + n
        out.setdefault(key >> 3, []).append(v)
    return out


def frames(path, torn=False):
    with open(path, "rb") as f:
        data = f.read()
    at = 0
    while at < len(data):
        if torn and at + 12 > len(data):
            return
        n, crc = struct.unpack_from("<QI", data, at)
        assert crc == masked_crc(data[at:at + 8]), f"{path}: CRC of the length at {at}"
        if torn and at + 16 + n > len(data):
            return
        body = data[at + 12:at + 12 + n]
        assert len(body) == n and struct.unpack_from("<I", data, at + 12 + n)[0] == masked_crc(body), f"{path}: CRC at {at}"
        yield body
        at += 16 + n


def doubles(data):
    return [v for v, in struct.iter_unpack("<d", data)]


class Events:
    def __init__(self, folder, torn=False):
        self.S, self.T, self.H, self.L, self.E, self.F = {}, {}, {}, [], [], []
        for path in sorted(glob.glob(glob.escape(folder) + "/**/*tfevents*", recursive=True)):
            self.F.append(os.path.basename(path))
            for i, body in enumerate(frames(path, torn)):
                self.event(message(body), i)

    def event(self, e, place):
        step = e.get(2, [0])[0]
        assert e[1][0] > 1e9, "no wall time"
        assert (3 in e) == (place == 0), "the version is not the first event"
        if 3 in e:
            assert e[3] == [b"brain.Event:2"]
            self.E.append(("version", step))
        if 7 in e:
            assert message(e[7][0])[1] == [1]
            self.E.append(("start", step))
        for summary in e.get(5, []):
            for value in message(summary)[1]:
                self.value(message(value), step)

    def value(self, v, step):
        tag = v[1][0].decode()
        if 2 in v:
            self.E.append(("scalar", step))
            self.S.setdefault(tag, []).append((step, v[2][0]))
        elif 5 in v:
            self.E.append(("histogram", step))
            h = message(v[5][0])
            self.H.setdefault(tag, []).append((step, dict(min=h[1][0], max=h[2][0], num=h[3][0], sum=h[4][0],
                                                          limit=doubles(h[6][0]), bucket=doubles(h[7][0]))))
        else:
            plugin = message(message(v[9][0])[1][0])[1][0]
            tensor = message(v[8][0])
            assert tensor[1] == [7]
            self.E.append((plugin.decode(), step))
            if plugin == b"text":
                self.T[tag] = tensor[8][0].decode()
            else:
                assert plugin == b"custom_scalars" and tag == "custom_scalars__config__"
                for c in message(tensor[8][0])[2]:
                    c = message(c)
                    self.L.append((c[1][0].decode(), [(k[1][0].decode(), [t.decode() for t in message(k[2][0])[1]])
                                                      for k in map(message, c[2])]))

    def differs(self, path, names=None, first=1):
        """Lines `step name value` of a script that knows its numbers (tests/apps/py/scalars.py); times are skipped."""
        want = {}
        with open(path) as f:
            for line in f:
                step, name, value = line.split()
                if not name.endswith("-time") and (not names or name in names):
                    want.setdefault(name, []).append((int(step) + first, struct.unpack("f", struct.pack("f", float(value)))[0]))
        out = []
        for name, points in want.items():
            have = self.S.get(name, [])
            if [x for x, _ in have] != [x for x, _ in points] or any(
                    a != b and not abs(a - b) <= 2e-6 * abs(b) for (_, a), (_, b) in zip(have, points)):
                out.append((name, have, points))
        return out if want else "nothing to compare"


def main():
    e = Events(sys.argv[1], "--torn" in sys.argv[3:])
    print(eval(sys.argv[2], {"S": e.S, "T": e.T, "H": e.H, "L": e.L, "E": e.E, "F": e.F, "D": e.differs}))


if __name__ == "__main__":
    main()
