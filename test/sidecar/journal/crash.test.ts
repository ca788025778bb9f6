import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Journal } from '../../../sidecar/journal/journal.ts'
import { lockDataDir } from '../../../sidecar/journal/lock.ts'
import { createTestLog } from '../control/test-log.ts'

describe('a process that is killed', () => {
  test('loses no written intent: each has its result or the note unknown, exactly once', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'chaperone-crash-'))
    try {
      const said = await runAndKill(dir)
      expect(said.length).toBeGreaterThan(100)
      const journal = new Journal({ dir, processId: 'proc_next', maxBytes: 64 << 20, log: createTestLog() })
      const notes = await drain(journal)
      journal.close()
      for (const id of said) {
        const n = Number(id.slice(4))
        expect(notes.get(id), id).toBe(n % 3 === 0 ? 'unknown' : null)
      }
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  })
})

describe('the lock of a data folder', () => {
  test('excludes a second writer while the first runs, and not after it was killed', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'chaperone-lock-'))
    const script = `import { lockDataDir } from ${JSON.stringify(new URL('../../../sidecar/journal/lock.ts', import.meta.url).href)}
      lockDataDir(${JSON.stringify(dir)}); process.stdout.write('locked'); setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      await once(child.stdout, 'data')
      expect(() => lockDataDir(dir)).toThrow(`in use by process ${child.pid}`)
      child.kill('SIGKILL')
      await once(child, 'exit')
      lockDataDir(dir).release()
      lockDataDir(dir).release()
    } finally {
      child.kill('SIGKILL')
      rmSync(dir, { recursive: true, force: true })
    }
  })
})

/** Ids whose intent the child reported before it died. */
async function runAndKill(dir: string): Promise<string[]> {
  const script = new URL('./crash-child.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [script, dir], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    if (text.length > 50_000) child.kill('SIGKILL')
  })
  await once(child, 'close')
  const complete = text.slice(0, text.lastIndexOf('\n'))
  return complete.split('\n').map((line) => line.replace('intent ', ''))
}

async function drain(journal: Journal): Promise<Map<string, string | null>> {
  const notes = new Map<string, string | null>()
  for (;;) {
    const { records } = await journal.nextBatch(5_000)
    if (records.size === 0) return notes
    for (const [id, json] of records) {
      expect(notes.has(id), `${id} twice`).toBe(false)
      notes.set(id, (JSON.parse(json.toString()) as { note: string | null }).note)
    }
    journal.acknowledge(records.keys(), [])
  }
}
