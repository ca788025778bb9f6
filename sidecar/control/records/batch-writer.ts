import type { Batch } from './batch-upload.ts'

/**
 * Batches as JSON, put together by hand in one space that is used again: only one is on its way at a time. As text each
 * would be half a megabyte, made twice, which goes straight among the old objects.
 */
export function createBatchWriter(): (batch: Batch) => Buffer {
  let space = Buffer.alloc(0)
  return ({ records, lost }) => {
    const tail = `],"lost":${JSON.stringify(lost)}}`
    let bytes = HEAD.length + Buffer.byteLength(tail)
    for (const json of records.values()) bytes += json.length + 1
    if (bytes > space.length) space = Buffer.allocUnsafeSlow(bytes)
    let at = space.write(HEAD)
    for (const json of records.values()) {
      if (at > HEAD.length) at += space.write(',', at)
      space.set(json, at)
      at += json.length
    }
    at += space.write(tail, at)
    return space.subarray(0, at)
  }
}

const HEAD = '{"records":['
