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
  // Brings its code compiled.
  sidecar: './sidecar.cjs',
  operator: './operator.js',
  'demo-agent': './demo-agent.js',
}

/** The file that starts a process: its bundle beside ours when we are one, else its source. */
export function programFile(program: Program): string {
  return shippedFile(program) ?? fileURLToPath(new URL(SOURCES[program], import.meta.url))
}

/** The bundle beside ours; null when we are run from the sources. */
export function shippedFile(program: Program): string | null {
  const bundle = fileURLToPath(new URL(BUNDLES[program], import.meta.url))
  return existsSync(bundle) ? bundle : null
}
