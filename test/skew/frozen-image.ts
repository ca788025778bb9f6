import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { frozenPrograms } from './skew-programs.ts'

/**
 * Entry point of the sidecar in the image with the frozen version. That version has no liveness probe, and the injector of
 * its time set none; the injector of this tree does, so the probe is answered here.
 */
const ENTRY = `'use strict'
const http = require('node:http')
const { createServer } = http
http.createServer = (listener) =>
  createServer((request, response) => (request.url === '/live' ? response.end('ok') : listener(request, response)))
require('../frozen/sidecar/main.cjs')
`

/** Replaces the sidecar in the folder of an image by the frozen version. All other programs stay. */
export function replaceSidecar(image: string): void {
  using frozen = frozenPrograms()
  const folder = join(image, 'app/frozen/sidecar')
  mkdirSync(folder, { recursive: true })
  cpSync(frozen.sidecar, join(folder, 'main.cjs'))
  writeFileSync(join(image, 'app/bin/sidecar.cjs'), ENTRY)
}
