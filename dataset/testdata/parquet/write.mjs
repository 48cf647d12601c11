import { parquetWriteFile } from 'hyparquet-writer'
import { gzipSync } from 'node:zlib'
const out = process.argv[2]
// people.parquet: texts, booleans, nulls, several row groups, snappy, dictionaries where the writer likes them
const n = 60
const rows = [...Array(n).keys()]
const columnData = () => [
  { name: 'age', data: rows.map(i => i % 7 === 3 ? null : 20 + (i * 37) % 50), type: 'INT32' },
  { name: 'income', data: rows.map(i => ((i * 7919) % 1000) / 8), type: 'DOUBLE', nullable: false },
  { name: 'port', data: rows.map(i => i % 11 === 5 ? null : ['S', 'C', 'Q', 'S', 'S'][i % 5]), type: 'STRING' },
  { name: 'adult', data: rows.map(i => i % 3 > 0), type: 'BOOLEAN' },
  { name: 'visits', data: rows.map(i => BigInt((i * i) % 17)), type: 'INT64' },
  { name: 'survived', data: rows.map(i => (i * 5) % 8 < 4 ? 'yes' : 'no'), type: 'STRING', nullable: false },
]
parquetWriteFile({ filename: out + '/people.parquet', columnData: columnData(), rowGroupSize: [25, 20] })
// the same, plain and without compression
const plain = columnData().map(c => ({ ...c, encoding: 'PLAIN' }))
parquetWriteFile({ filename: out + '/people-plain.parquet', columnData: plain, codec: 'UNCOMPRESSED', rowGroupSize: n })
// the same, in encodings of differences and gzip
const enc = { age: 'DELTA_BINARY_PACKED', income: 'BYTE_STREAM_SPLIT', port: 'DELTA_BYTE_ARRAY', adult: 'RLE',
  visits: 'DELTA_BINARY_PACKED', survived: 'DELTA_LENGTH_BYTE_ARRAY' }
parquetWriteFile({ filename: out + '/people-delta.parquet', codec: 'GZIP', compressors: { GZIP: b => gzipSync(b) },
  columnData: columnData().map(c => ({ ...c, encoding: enc[c.name] })), rowGroupSize: 33, pageSize: 200 })
import { writeFileSync } from 'node:fs'
const cell = v => v === null ? '' : String(v)
const cols = columnData()
writeFileSync(out + '/people.csv', cols.map(c => c.name).join(',') + '\n' +
  rows.map(i => cols.map(c => cell(c.data[i])).join(',')).join('\n') + '\n')
// dates, lists and an index as pandas writes them
parquetWriteFile({ filename: out + '/mixed.parquet', columnData: [
  { name: 'x', data: [0.5, 1.5, 2.5, -1] , type: 'FLOAT' },
  { name: 'born', data: [0, 1, 2, 3].map(d => new Date(d * 86400000)), type: 'TIMESTAMP' },
  { name: 'tags', data: [['a'], ['b', 'c'], [], ['d']] },
  { name: 'half', data: [0.5, -2, 65504, 6e-8], type: 'FLOAT16' },
  { name: 'y', data: [1, 0, 1, 0], type: 'INT32' },
  { name: '__index_level_0__', data: [0n, 1n, 2n, 3n], type: 'INT64' },
]})
