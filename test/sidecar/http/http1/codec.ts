import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { ChunkedDecoder, LengthDecoder } from '../../../../sidecar/http/http1/body-decoder.ts'
import type { HeadResult, readHead } from '../../../../sidecar/listener/http1/head.ts'
import { HeadMemo } from '../../../../sidecar/listener/http1/head-memo.ts'
import { UpstreamConnection } from '../../../../sidecar/upstream/http1/connection.ts'

/** An HTTP/1 codec, present or frozen. */
export type Codec = {
  readonly LengthDecoder: typeof LengthDecoder
  readonly ChunkedDecoder: typeof ChunkedDecoder
  readonly UpstreamConnection: typeof UpstreamConnection
  /** Returns the reader of the request heads of one connection. */
  createHeadReader(): HeadReader
}

/** `searched`: the first bytes that were read as incomplete before. */
export type HeadReader = (bytes: Buffer, searched: number) => HeadResult

/** The codec of this tree, as the listener and the pool use it. */
export const PRESENT: Codec = {
  ...{ LengthDecoder, ChunkedDecoder, UpstreamConnection },
  createHeadReader() {
    const memo = new HeadMemo()
    return (bytes, searched) => memo.read(bytes, searched)
  },
}

type FrozenCodec = Omit<Codec, 'createHeadReader'> & { readonly readHead: typeof readHead }

/**
 * Returns the codec that `scripts/freeze-codec.ts` froze. Its decoders have the interface of the present ones, except for
 * the limits of chunked requests, which are constants there.
 */
export function frozenCodec(): Codec {
  const frozen = join(import.meta.dirname, 'frozen')
  const name = readdirSync(frozen).find((each) => each.endsWith('.cjs.br')) ?? ''
  const folder = mkdtempSync(join(tmpdir(), 'chaperone-codec-'))
  try {
    const file = join(folder, 'codec.cjs')
    writeFileSync(file, brotliDecompressSync(readFileSync(join(frozen, name))))
    const { readHead: readFrozenHead, ...codec } = createRequire(import.meta.url)(file) as FrozenCodec
    return { ...codec, createHeadReader: () => (bytes) => readFrozenHead(bytes) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
