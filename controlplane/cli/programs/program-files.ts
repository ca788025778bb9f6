import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export type Program = 'controlplane' | 'sidecar' | 'operator' | 'demo-agent'

const SOURCES: Readonly<Record<Program, string>> = {
  controlplane: '../../main.ts',
  sidecar: '../../../sidecar/main.ts',
  operator: '../../../operator/main.ts',
  'demo-agent': '../demo/agent.ts',
}

const BUNDLES: Readonly<Record<Program, string>> = {
  controlplane: './controlplane.js',
  // The file sidecar.cjs loads the gateway's bundle with a V8 code cache.
  sidecar: './sidecar.cjs',
  operator: './operator.js',
  'demo-agent': './demo-agent.js',
}

/** Returns the entry file of a program: the released bundle if it exists, otherwise the source. */
export function programFile(program: Program): string {
  return shippedFile(program) ?? fileURLToPath(new URL(SOURCES[program], import.meta.url))
}

/** Returns the program's bundle in the folder of this file; null when this program runs from its sources. */
export function shippedFile(program: Program): string | null {
  const bundle = fileURLToPath(new URL(BUNDLES[program], import.meta.url))
  return existsSync(bundle) ? bundle : null
}
