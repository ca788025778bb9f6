import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { STARTUP_PROBE } from '../../../core/inject/sidecar.ts'

test('the page on clusters names the failures of the start-up probe after which the kubelet restarts the sidecar', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/kubernetes.md'), 'utf8')
  const sentence = page
    .replaceAll('\n', ' ')
    .match(/after (?<failures>\d+) failures.{0,80}kubelet restarts\s+it/i)
  expect(Number(sentence?.groups?.['failures'])).toBe(STARTUP_PROBE.failureThreshold)
})
