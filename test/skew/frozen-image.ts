import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { frozenPrograms } from './skew-programs.ts'

/** Replaces control plane and sidecar in the folder of an image by those of the frozen version. All other programs stay. */
export function replacePrograms(image: string): void {
  using frozen = frozenPrograms()
  const folder = join(image, 'app/frozen')
  mkdirSync(folder, { recursive: true })
  for (const program of [frozen.controlplane, frozen.sidecar])
    cpSync(dirname(program), join(folder, nameOf(program)), { recursive: true })
  writeFileSync(join(image, 'app/bin/controlplane.js'), "import '../frozen/controlplane/main.cjs'\n")
  writeFileSync(join(image, 'app/bin/sidecar.cjs'), "'use strict'\nrequire('../frozen/sidecar/main.cjs')\n")
}

function nameOf(program: string): string {
  return basename(dirname(program))
}
