import { enableCompileCache } from 'node:module'
import { COMPILE_CACHE } from './compile-cache.ts'

// Node opens its inspector on SIGUSR1: any program of the same user could read every key of this process.
process.on('SIGUSR1', () => undefined)
// Before anything large is loaded.
enableCompileCache(COMPILE_CACHE)
const { runCli } = await import('./cli.ts')
// `chaperone traffic -f | head`: who reads no more has seen enough. `up` and `demo` have others to care for and go on.
const isOutput = !['up', 'demo'].includes(process.argv[2] ?? '')
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
