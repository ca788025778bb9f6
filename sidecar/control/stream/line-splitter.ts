/** Splits a byte stream into lines. UTF-8 characters may span two chunks. */
export type LineSplitter = { push(chunk: Buffer): string[] }

const MAX_LINE_BYTES = 4 * 1024 * 1024

/** Creates a line splitter. The method `push` throws when a line exceeds 4 MiB. */
export function createLineSplitter(): LineSplitter {
  const decoder = new TextDecoder('utf-8')
  let rest = ''
  return {
    push(chunk) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = parts.pop() ?? ''
      if (rest.length > MAX_LINE_BYTES) throw new Error('the control plane sent a message of more than 4 MiB')
      return parts.filter((part) => part.trim() !== '')
    },
  }
}
