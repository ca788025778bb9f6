import { enableCompileCache } from 'node:module'
import { COMPILE_CACHE } from './compile-cache.ts'

// By default Node opens its inspector on SIGUSR1, which would let any program of the same user read the keys of this
// process.
process.on('SIGUSR1', () => undefined)
// The compile cache must be enabled before the modules of a command are loaded.
enableCompileCache(COMPILE_CACHE)
const { commandOf, runCli } = await import('./cli.ts')
// EPIPE, as in `chaperone traffic -f | head`, ends a command. `up` and `demo` continue, because they supervise child
// processes.
const isOutput = !['up', 'demo'].includes(commandOf(process.argv.slice(2)).name ?? '')
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    if (isOutput) process.exit(0)
  })
}
process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  terminal: {
    print: (line) => void process.stdout.write(`${line}\n`),
    warn: (line) => void process.stderr.write(`${line}\n`),
    isInteractive: process.stdin.isTTY === true && process.stderr.isTTY === true,
  },
})
