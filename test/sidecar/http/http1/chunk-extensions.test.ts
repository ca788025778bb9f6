import { expect, test } from 'vitest'
import { readRequests } from './request-reader.ts'
import { plainRequest, readResponse } from './response-reader.ts'

const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n'

/** Returns a chunked body of `count` chunks, each with an extension of `bytes` bytes. */
function extended(count: number, bytes: number): string {
  return `${`1;${'x'.repeat(bytes - 1)}\r\na\r\n`.repeat(count)}0\r\n\r\n`
}

function responseProblem(body: string): string | null {
  return readResponse([Buffer.from(`HTTP/1.1 200 OK\r\n${CHUNKED}${body}`)], plainRequest('GET')).problem
}

function requestProblem(body: string): string | null {
  return readRequests([Buffer.from(`POST / HTTP/1.1\r\nHost: a\r\n${CHUNKED}${body}`)]).problem
}

test('a response may have an extension of up to 4 KiB at each of any number of chunks', () => {
  expect(responseProblem(extended(5_000, 20))).toBeNull()
  expect(responseProblem(extended(3, 4_095))).toBeNull()
  expect(responseProblem(extended(1, 4_096))).toContain('a line of the chunked body is too long')
})

test('a request may have 255 bytes of extensions at a chunk, and 4 KiB in its body', () => {
  expect(requestProblem(extended(16, 255))).toBeNull()
  expect(requestProblem(extended(1, 256))).toBe('a line of the chunked body is too long')
  expect(requestProblem(extended(17, 255))).toBe('the chunk extensions are too long')
})
