import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { escapeNonAscii } from '../../controlplane/cli/programs/escape-non-ascii.ts'
import { DEFAULT_PROXY_COMMAND } from '../../core/inject/options.ts'
import { SIDECAR_ENTRY_POINT } from '../entry-points.ts'

/**
 * Writes the sidecar's program in the form with the shortest start time: one CommonJS script and its V8 code cache. The
 * script is CommonJS, because `require` of a Node module loads only the used exports. `import` would read every export,
 * and one of them loads an HTTP client. With `import`, the sidecar uses 440 ms instead of 360 ms of CPU time until it
 * is ready, and 2.4 MiB more memory. Throws if the program does not run.
 */
export function assembleSidecarProgram(root: string, bin: string): void {
  const program = join(bin, 'sidecar-program.js')
  const { outputFiles } = buildSync({
    absWorkingDir: root,
    entryPoints: [SIDECAR_ENTRY_POINT],
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    minifySyntax: true,
    // V8 keeps the text of the program in memory. Without blanks, the text is 0.5 MiB shorter and has a quarter of the
    // lines.
    minifyWhitespace: true,
    lineLimit: 200,
    legalComments: 'none',
    logLevel: 'warning',
    write: false,
  })
  writeFileSync(program, escapeNonAscii(outputFiles.map(({ text }) => text).join('')), 'latin1')
  const boot = join(bin, 'sidecar.cjs')
  copyFileSync(join(root, 'scripts/image/sidecar.cjs'), boot)
  makeCache(boot, join(bin, 'sidecar-program.cache'))
}

/**
 * Creates the V8 code cache by running the program without settings, so that the program exits immediately. V8 accepts
 * a cache only with the flags with which the cache was created.
 */
function makeCache(boot: string, cache: string): void {
  const flags = DEFAULT_PROXY_COMMAND.filter((word) => word.startsWith('--'))
  const { stderr } = spawnSync(process.execPath, [...flags, boot, '--make-cache'], {
    env: {},
    encoding: 'utf8',
  })
  if (!existsSync(cache)) throw new Error(`The sidecar's program does not load: ${stderr}`)
  chmodSync(cache, 0o644)
}
