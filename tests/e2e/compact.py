# Reads calls_<a>-<b>.compact by docs/reference/compact-format.md alone and prints the rows as the CSV file has them.
# Usage: compact.py FILE... (the parts of one block of steps, in order). Exit 1: a block is damaged.
import csv, struct, sys, zlib

DTYPES = """other bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float8_e4m3fn float8_e5m2 bfloat16 float16 float32 float64
complex64 complex128 float8_e8m0fnu float8_e4m3fnuz float8_e5m2fnuz float4_e2m1fn_x2""".split()
REDOPS = ' sum prod min max avg land lor lxor band bor bxor minloc maxloc replace user'.split(' ')
PHASES = ['', 'forward', 'backward', 'optimizer', 'evaluation']
FLAGS = """inplace async captured nostats unwound cancelled guessed localcomm inprogress freed derived untracked more unseen error
open node part permuted gaps""".split()
HEADER = """step,micro_step,seq,lib,api,op,comm,comm_seq,rank,size,redop,root,peer,io,index,dtype,shape,count,bytes,min,max,mean,norm,
zeros,nans,infs,start_ns,dur_ns,thread,stack_id,flags,parent,phase,name,tag,wait_ns,dev_ns,crc32,issue_ns,await_dtype,await_count"""
EMPTY, WIDE = -2**31, ('int64', 'uint64', 'float64', 'complex128')


class Column:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self):
        v = shift = 0
        while True:
            b = self.take(1)[0]
            v |= (b & 127) << shift
            shift += 7
            if b < 128:
                return v

    def signed(self):
        v = self.number()
        return v >> 1 ^ -(v & 1)

    def optional(self):  # 0: none
        v = self.number()
        return None if not v else v - 1 >> 1 ^ -(v - 1 & 1)

    def __bool__(self):
        return self.at < len(self.data)


def text(v, none):
    return '' if v is None or v == none else str(v)


def real(v, wide):
    return '0' if not v else '%.*g' % (17 if wide else 9, v)


def value(column, width, kind, before, lane):  # kind: f, i, u
    raw = column.take((0, 4, 5, 8)[width])
    n = int.from_bytes(raw, 'little', signed=kind == 'i')
    if kind != 'f':
        before[lane] = n if width else before.get(lane, 0)
        return before[lane] % 2**64 - (2**64 if kind == 'i' and before[lane] % 2**64 >= 2**63 else 0)
    if width == 2:
        before[lane] = float('%s%de%d' % ('-' * (n >> 30 & 1), (n & 2**30 - 1) + 10**8, (n >> 31) - 256 - 8))
    elif width:
        before[lane] = struct.unpack('<f' if width == 1 else '<d', raw)[0]
    return before.get(lane, 0.0)


def rows(data):
    at = 0
    while at < len(data):
        magic, size, crc, calls, flags, ncolumns = struct.unpack_from('<4sIIIHH', data, at)
        block = data[at:at + size]
        if magic != b'PRC1' or len(block) < size or zlib.crc32(block[12:]) != crc:
            sys.exit('damaged block at byte %d' % at)
        at += size
        body, c = Column(block[20:]), []
        for size in [body.number() for _ in range(ncolumns)]:
            c.append(Column(body.take(size)))
        if flags & 1:
            texts, comms, functions, tensors, sites = [], [], [], [], []
        while c[0]:
            texts.append(c[0].take(c[0].number()).decode('utf-8', 'backslashreplace'))
        while c[1]:
            ident = struct.unpack('<Q', c[1].take(8))[0]
            comms.append([ident, c[1].signed(), c[1].signed(), 0 if ident else None])
        while c[2]:
            lib, api, op, comm, thread, redop, phase = [c[2].number() for _ in range(7)]
            functions.append([texts[lib], texts[api], texts[op], comms[comm], thread, REDOPS[redop], PHASES[phase], c[2].optional(),
                              c[2].number(), EMPTY, EMPTY])
        while c[3]:
            io, dtype = c[3].take(2)
            index, dims = c[3].number(), c[3].number()
            shape = '' if not dims else 'x'.join(str(c[3].number()) for _ in range(dims - 1)) or '-'
            tensors.append((io, DTYPES[dtype], index, shape, c[3].number(), c[3].number(), c[3].number()))
        while c[4]:
            function, stack, n = c[4].number(), c[4].number(), c[4].number()
            sites.append((functions[function], stack, [tensors[c[4].number()] for _ in range(n)]))
        step = seq = start = 0
        micro_step, before = 0, {}
        for _ in range(calls):
            function, stack, own = sites[c[5].number()]
            lib, api, op, comm, thread, redop, phase, root, flags = function[:9]
            has, more = c[6].number(), c[10]
            step += more.signed() if has & 1 else 0
            micro_step = more.number() if has & 2 else micro_step
            comm_seq = (comm[3] or 0) + more.signed() if has & 4 else None if has & 8 else comm[3]
            comm[3] = None if comm_seq is None else comm_seq + 1
            function[9] += more.signed() if has & 16 else 0
            function[10] += more.signed() if has & 32 else 0
            wait, issue, device = [more.number() if has & bit else None for bit in (64, 128, 256)]
            parent, error = [more.signed() if has & bit else None for bit in (512, 1024)]
            node = more.number() if has & 2048 else None
            awaited = (DTYPES[more.take(1)[0]], more.number()) if has & 4096 else ('', '')
            seq += c[7].signed() + 1
            start += c[8].signed()
            duration = '' if flags & 1 << 15 else c[9].number()
            for tensor in own or [None]:
                row = dict.fromkeys(HEADER.replace('\n', '').split(','), '')
                kind, number, peer, tag = 0, comm_seq, function[9], function[10]
                if tensor:
                    io, dtype, index, shape, count, size, name = tensor
                    kind, wide, m = c[11].take(1)[0], dtype in WIDE, c[17]
                    row.update(io=('in', 'out')[io], dtype=dtype, index=index, shape=shape, count=count, bytes=size,
                               name=texts[name - 1] if name else '')
                    if kind & 1:
                        widths = c[12].take(1)[0]
                        what = 'i' if dtype[:3] == 'int' else 'u' if dtype[:4] in ('uint', 'bool') else 'f'
                        kinds = [what, what, 'f', 'f']
                        found = [value(c[13 + i], widths >> 2 * i & 3, k, before, (io, i, k == 'f' and 1 + wide))
                                 for i, k in enumerate(kinds)]
                        row.update({name: real(v, wide) if k == 'f' else v for name, k, v in
                                    zip(('min', 'max', 'mean', 'norm'), kinds, found)})
                    zeros, nans, infs = [m.number() if kind & bit else 0 for bit in (4, 8, 16)]
                    n = m.number() if kind & 32 else count * (2 if dtype[:7] in ('complex', 'float4_') else 1)
                    if kind & 1:
                        row.update(zeros=real(zeros / n, False), nans=nans, infs=infs)
                    row['crc32'] = '%08x' % struct.unpack('<I', m.take(4))[0] if kind & 64 else ''
                    if kind & 128:
                        number, peer, tag = [o if o is not None else e for o, e in
                                             zip([m.optional() for _ in range(3)], (number, peer, tag))]
                words = [w + ({'error': ':%s' % error, 'node': node is not None and ':%d%s' % (node >> 16, node & 65535 and '-%d' % (
                    (node >> 16) + (node & 65535)) or '')}.get(w) or '') for i, w in enumerate(FLAGS)
                    if (flags | (kind & 2) << 2) >> i & 1]
                row.update(step=step, micro_step=micro_step - 1 if micro_step else '', seq=seq, lib=lib, api=api, op=op,
                           comm='%016x' % comm[0] if comm[0] else '', comm_seq=text(number, None), redop=redop, phase=phase,
                           rank=comm[1] if comm[1] >= 0 else '', size=comm[2] if comm[2] >= 0 else '', root=text(root, None),
                           peer=text(peer, EMPTY), tag=text(tag, EMPTY), start_ns=start, dur_ns=duration, thread=thread,
                           stack_id=stack or '', flags=';'.join(words), parent=seq - parent if parent is not None else '',
                           wait_ns=text(wait, None), issue_ns=text(issue, None), dev_ns=text(device, None),
                           await_dtype=awaited[0], await_count=awaited[1])
                yield row.values()


if __name__ == '__main__':
    print(HEADER.replace('\n', ''))
    for path in sys.argv[1:]:
        csv.writer(sys.stdout, lineterminator='\n').writerows(rows(open(path, 'rb').read()))
