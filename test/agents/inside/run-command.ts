import { spawn } from 'node:child_process'

export type Ran = { readonly exitCode: number; readonly output: string; readonly seconds: number }

type Options = {
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly timeoutMs: number
}

/** Runs a command to its end, or ends its whole process group at the limit: exit code 124 then, as `timeout` says it. */
export function runCommand([program = '', ...args]: readonly string[], options: Options): Promise<Ran> {
  const { env, cwd, timeoutMs } = options
  const started = performance.now()
  const child = spawn(program, args, { env, cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  let isOver = false
  const timer = setTimeout(() => {
    isOver = true
    process.kill(-(child.pid ?? 0), 'SIGKILL')
  }, timeoutMs)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => {
      clearTimeout(timer)
      // Whatever the program left behind would keep its outputs open.
      endGroup(child.pid ?? 0)
      child.once('close', () => {
        const seconds = (performance.now() - started) / 1_000
        resolve({ exitCode: isOver ? 124 : (code ?? 137), output: Buffer.concat(chunks).toString(), seconds })
      })
    })
  })
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
