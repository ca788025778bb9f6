import { expect, it } from 'vitest'
import { workloadByPodName } from '../../../core/inject/agent-name.ts'

it.each([
  ['web-7d4b9c6f5-x2x4z', 'web'],
  ['web-59f8d7c4b6-hjklm', 'web'],
  ['web-x2x4z', 'web'],
  ['nightly-29384756-x2x4z', 'nightly'],
  ['db-0', 'db'],
  ['db-12', 'db'],
  ['alone', 'alone'],
  ['two-words', 'two-words'],
  ['code-reviewer', 'code-reviewer'],
])('the pod %s is of the workload %s', (pod, workload) => {
  expect(workloadByPodName(pod)).toBe(workload)
})
