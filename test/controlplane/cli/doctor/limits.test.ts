import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { LIMITS } from '../../../../controlplane/cli/doctor/limits.ts'

test('docs/security.md has the table that doctor prints', () => {
  const page = readFileSync(new URL('../../../../docs/security.md', import.meta.url), 'utf8')
  const section = page.split('## On one machine\n')[1]?.split('\n## ')[0] ?? ''
  const rows = LIMITS.map(({ attacker, run, captured }) => `| ${attacker} | ${run} | ${captured} |`)
  expect(section).toContain(`\n${rows.join('\n')}\n`)
})
