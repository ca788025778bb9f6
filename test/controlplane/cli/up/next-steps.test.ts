import { expect, test } from 'vitest'
import { nextSteps } from '../../../../controlplane/cli/up/next-steps.ts'

test('the lines that a start prints lead to the installation that was started, not to another one', () => {
  for (const line of nextSteps('chaperone', '/tmp/a folder'))
    expect(line).toContain(" --data '/tmp/a folder'")
  expect(nextSteps('chaperone', '/tmp/try')[0]).toMatch(/^chaperone run --data \/tmp\/try -- claude /)
})

test('they name no folder that commands find by themselves', () => {
  expect(nextSteps('./scripts/chaperone.sh', null)).toEqual([
    './scripts/chaperone.sh run -- claude    start an agent behind the gateway: codex, gemini, python agent.py, …',
    './scripts/chaperone.sh traffic -f       what agents do, as they do it',
    './scripts/chaperone.sh approvals ls     what waits for a person',
    './scripts/chaperone.sh doctor           what is missing, and the line that mends it',
  ])
})
