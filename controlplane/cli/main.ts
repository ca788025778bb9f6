import { enableCompileCache } from 'node:module'
import { COMPILE_CACHE } from './compile-cache.ts'

// Before anything large is loaded.
enableCompileCache(COMPILE_CACHE)
const { runCli } = await import('./cli.ts')
process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  terminal: {
    print: (line) => void process.stdout.write(`${line}\n`),
    warn: (line) => void process.stderr.write(`${line}\n`),
    isInteractive: process.stdin.isTTY === true && process.stderr.isTTY === true,
  },
})
