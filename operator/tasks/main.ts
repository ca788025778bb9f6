import { KubeConfig } from '@kubernetes/client-node'
import { failureReason } from '../../core/failure-reason.ts'
import { createKubeClient } from '../kube/client.ts'
import { ensurePassword } from './postgres-password.ts'
import { proveInjection } from './self-test.ts'
import type { Task } from './task.ts'
import { leaveCluster } from './uninstall.ts'

/** What jobs of the chart do once, with the rights of their own ServiceAccount: `node operator-tasks.js TASK`. */
const TASKS: Readonly<Record<string, Task>> = {
  uninstall: leaveCluster,
  'self-test': proveInjection,
  'postgres-password': ensurePassword,
}
const TIMEOUT_MS = 120_000

async function main(): Promise<void> {
  const [name = ''] = process.argv.slice(2)
  const task = TASKS[name]
  const namespace = process.env['POD_NAMESPACE'] ?? ''
  if (task === undefined)
    throw new Error(`${name || 'no task'}: give one of ${Object.keys(TASKS).join(', ')}`)
  if (namespace === '') throw new Error('POD_NAMESPACE is not set: set it to the namespace of Chaperone')
  const config = new KubeConfig()
  config.loadFromCluster()
  using client = createKubeClient(config)
  await task({
    client,
    namespace,
    agentNamespace: process.env['AGENT_NAMESPACE'] ?? 'default',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    say: (text) => console.log(text),
  })
}

main().catch((error: unknown) => {
  console.error(failureReason(error))
  process.exitCode = 1
})
