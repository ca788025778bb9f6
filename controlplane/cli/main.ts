import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

// Beside the packages: as trustworthy as the code itself, which a folder in /tmp is not.
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/chaperone', import.meta.url)))
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
