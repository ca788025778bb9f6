import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildSync } from 'esbuild'

/** Has operator, control plane and sidecar in the folder of an image load `moved-clock.ts` first. */
export function moveClocksOf(image: string): void {
  const bin = join(image, 'app/bin')
  buildSync({
    entryPoints: [join(import.meta.dirname, 'moved-clock.ts')],
    outfile: join(bin, 'moved-clock.cjs'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    logLevel: 'warning',
  })
  for (const program of ['operator.js', 'controlplane.js'])
    prepend(join(bin, program), "import './moved-clock.cjs'\n")
  prepend(join(bin, 'sidecar.cjs'), "require('./moved-clock.cjs')\n")
}

function prepend(file: string, line: string): void {
  writeFileSync(file, `${line}${readFileSync(file, 'utf8')}`)
}
