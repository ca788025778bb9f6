import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { escapeNonAscii } from '../../controlplane/cli/programs/escape-non-ascii.ts'
import { DEFAULT_PROXY_COMMAND } from '../../core/inject/options.ts'

/**
 * Puts the sidecar's program into a folder in the form that starts soonest: one script, whose `require`
 * of a module of Node's loads nothing that is not used (an `import` reads every export, of which one is a whole HTTP
 * client), and what V8 made of it. Throws when a program made this way does not run.
 */
export function assembleSidecarProgram(root: string, bin: string): void {
  const program = join(bin, 'sidecar-program.js')
  const { outputFiles } = buildSync({
    absWorkingDir: root,
    entryPoints: ['sidecar/main.ts'],
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'warning',
    write: false,
  })
  writeFileSync(program, escapeNonAscii(outputFiles.map(({ text }) => text).join('')), 'latin1')
  const boot = join(bin, 'sidecar.cjs')
  copyFileSync(join(root, 'images/sidecar.cjs'), boot)
  makeCache(boot, join(bin, 'sidecar-program.cache'))
}

/** V8 takes a cache only under the flags that it was made with. The program itself ends at once, for it finds no settings. */
function makeCache(boot: string, cache: string): void {
  const flags = DEFAULT_PROXY_COMMAND.filter((word) => word.startsWith('--'))
  const { stderr } = spawnSync(process.execPath, [...flags, boot, '--make-cache'], {
    env: {},
    encoding: 'utf8',
  })
  if (!existsSync(cache)) throw new Error(`the sidecar's program does not load: ${stderr}`)
  chmodSync(cache, 0o644)
}
