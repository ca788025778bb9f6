import { expect, test } from 'vitest'
import { nextSteps } from '../../../../controlplane/cli/up/next-steps.ts'

test('the command lines that a start prints select the started installation', () => {
  for (const line of nextSteps('chaperone', '/tmp/a folder'))
    expect(line).toContain(" --data '/tmp/a folder'")
  expect(nextSteps('chaperone', '/tmp/try')[0]).toMatch(/^chaperone run --data \/tmp\/try -- claude /)
})

test('they omit a data folder that commands find without the option', () => {
  expect(nextSteps('./scripts/chaperone.sh', null)).toEqual([
    './scripts/chaperone.sh run -- claude    start an agent behind the gateway: codex, gemini, python agent.py, …',
    './scripts/chaperone.sh traffic -f       follow the requests of agents',
    './scripts/chaperone.sh approvals ls     list pending approvals',
    './scripts/chaperone.sh doctor           find problems and how to fix them',
  ])
})
