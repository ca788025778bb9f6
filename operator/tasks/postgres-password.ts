import { randomBytes } from 'node:crypto'
import { hasCode } from '../kube/kube-failure.ts'
import { pathOf, RESOURCES } from '../kube/objects.ts'
import type { TaskContext } from './task.ts'

/** Secret with the URL of the database. It has the same keys as the Secret of an external database. */
const POSTGRES_SECRET = 'chaperone-postgres'

/**
 * Creates the Secret of the bundled database, unless it exists. Its keys are `password`, and `url` for the control
 * plane.
 */
export async function ensurePostgresSecret({ client, namespace, print }: TaskContext): Promise<void> {
  const path = pathOf(RESOURCES.Secret, namespace)
  try {
    await client.call({ method: 'GET', path: `${path}/${POSTGRES_SECRET}` })
    return print(`kept Secret ${namespace}/${POSTGRES_SECRET}`)
  } catch (error) {
    if (!hasCode(error, 'not_found')) throw error
  }
  const password = randomBytes(24).toString('hex')
  await client.call({
    method: 'POST',
    path,
    body: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: POSTGRES_SECRET, labels: { 'app.kubernetes.io/part-of': 'chaperone' } },
      type: 'Opaque',
      stringData: {
        password,
        url: `postgres://chaperone:${password}@${POSTGRES_SECRET}.${namespace}.svc:5432/chaperone`,
      },
    },
  })
  print(`created Secret ${namespace}/${POSTGRES_SECRET}`)
}
