import type { Batch } from './batch-upload.ts'

/**
 * Returns a writer that serializes each batch into the same buffer. The buffer can be reused, because only one batch is
 * in flight. Strings of half a megabyte would be allocated twice for each batch, directly in V8's old generation.
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
