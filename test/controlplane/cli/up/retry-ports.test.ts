import { expect, test } from 'vitest'
import { StartFailure } from '../../../../controlplane/cli/programs/child-process.ts'
import { startOnPorts } from '../../../../controlplane/cli/up/retry-ports.ts'

const TAKEN = new StartFailure('fatal', 'The gateway cannot start: the port is in use.', 'EADDRINUSE')

function ports() {
  let next = 0
  return async () => ++next
}
const failing = (times: number, error: Error) => async (port: number) => {
  if (port <= times) throw error
  return `on ${port}`
}

test('a port that another program has taken is replaced by another port', async () => {
  expect(await startOnPorts(true, ports(), failing(2, TAKEN))).toEqual({ ports: 3, started: 'on 3' })
})

test.each([
  ['a port that was asked for', false, 1, TAKEN],
  ['three taken ports', true, 3, TAKEN],
  ['a text that only names the code', true, 1, new StartFailure('fatal', 'listen EADDRINUSE')],
  ['any other reason', true, 1, new Error('no database')],
])('%s ends the start with the error', async (_, isChosen, times, error) => {
  await expect(startOnPorts(isChosen, ports(), failing(times, error))).rejects.toBe(error)
})
