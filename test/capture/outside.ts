import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const MARK = 'MARK_OF_A_SECRET'

/** Resources outside that must not be accessible, besides the installation. */
export type Outside = {
  readonly dir: string
  readonly abstract: string
  readonly shared: string
  /** A terminal of the user into which a secret was typed. */
  readonly terminal: string
  close(): void
}

export async function startOutside(uid = 0): Promise<Outside> {
  const dir = mkdtempSync(join(tmpdir(), 'chaperone-outside-'))
  chmodSync(dir, 0o755)
  const abstract = `chaperone-${process.pid}-${Date.now()}`
  const servers = await Promise.all([join(dir, 'daemon.sock'), `\0${abstract}`].map(listen))
  chmodSync(join(dir, 'daemon.sock'), 0o777)
  const shared = `/dev/shm/${abstract}`
  writeFileSync(shared, MARK, { mode: 0o666 })
  const { terminal, child } = await openTerminal(uid)
  return {
    ...{ dir, abstract, shared, terminal },
    close() {
      child.kill('SIGKILL')
      for (const server of servers) server.close()
      rmSync(dir, { recursive: true, force: true })
      rmSync(shared, { force: true })
    },
  }
}

const TERMINAL = `
import os, sys
main, terminal = os.openpty()
os.fchown(terminal, int(sys.argv[1]), int(sys.argv[1]))
os.write(main, b"${MARK}\\n" * 50)
print(os.ttyname(terminal), flush=True)
sys.stdin.read()`

async function openTerminal(uid: number): Promise<{ terminal: string; child: ChildProcess }> {
  const child = spawn('/usr/bin/python3', ['-c', TERMINAL, String(uid)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [name] = await once(child.stdout, 'data')
  return { terminal: String(name).trim(), child }
}

export async function listen(path: string): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => socket.destroy()))
  await new Promise<void>((resolve) => server.listen(path, resolve))
  return server
}
