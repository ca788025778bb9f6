import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type TimedLine, terminalSvg } from './recording/terminal-svg.ts'

/**
 * Records `npm run demo -- --yes` as `docs/images/demo.svg`. The recording has the text of the run, but pauses of at
 * most 1.5 s. The pause before each numbered step is at least 0.8 s.
 */
const root = fileURLToPath(new URL('..', import.meta.url))
const file = join(root, 'docs/images/demo.svg')
const MAX_PAUSE_S = 1.5
const MIN_ACT_PAUSE_S = 0.8

const demo = spawn(process.execPath, [join(root, 'controlplane/cli/main.ts'), 'demo', '--yes'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const ended = once(demo, 'exit')
const lines: TimedLine[] = [{ atS: 0, text: '$ npm run demo -- --yes' }]
let [shownS, previousMs] = [0, performance.now()]
for await (const text of createInterface({ input: demo.stdout })) {
  const pauseS = Math.min((performance.now() - previousMs) / 1000, MAX_PAUSE_S)
  previousMs = performance.now()
  shownS += /^\d\. /.test(text) ? Math.max(pauseS, MIN_ACT_PAUSE_S) : pauseS
  lines.push({ atS: Number(shownS.toFixed(2)), text })
}
const [code] = await ended
if (code !== 0) throw new Error(`the demo ended with exit code ${code}`)
writeFileSync(
  file,
  terminalSvg(
    lines,
    'npm run demo: a request is allowed, one is held and approved, one is denied, then the kill switch refuses all',
  ),
)
console.log(`recording: ${file}`)
