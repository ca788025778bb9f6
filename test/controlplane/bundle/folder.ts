import { parseAllDocuments } from 'yaml'
import { EMPTY_SET, folderItems, nextSet } from '../../../operator/folder/manifest-set.ts'
import { OPERATOR_TOKEN, type TestInstallation } from '../routes/installation.ts'
import { at, caller } from '../routes/start.ts'

export type Reply = {
  readonly accepted: boolean
  readonly reasons: readonly string[]
  readonly in_force: string
}
export type Exported = {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly spec: Readonly<Record<string, unknown>>
}

/** Applies an export as a manifests folder does, with a Secret for each that it names. */
export async function applyFolder(where: TestInstallation, text: string): Promise<readonly Reply[]> {
  const files = [
    { file: 'export.yaml', text },
    { file: 'secrets.yaml', text: secretsFor(text) },
  ]
  const set = nextSet(EMPTY_SET, files)
  if (set.problems.length > 0) throw new Error(JSON.stringify(set.problems))
  const objects = folderItems(set).map(({ body }) => body)
  return sendObjects(where, 'file', objects)
}

/** Applies an export as a cluster does. */
export async function applyCluster(where: TestInstallation, text: string): Promise<readonly Reply[]> {
  const objects = manifestsIn(text).map((resource) => ({
    ...{ uid: `${resource.kind}/${resource.metadata.namespace}/${resource.metadata.name}`, generation: 1 },
    ...{ source: 'kubernetes', managed_by: 'export', resource },
    ...(resource.kind === 'Connector' ? { credential: 'anything' } : {}),
  }))
  return sendObjects(where, 'kubernetes', objects)
}

/** The documents that are no comments. */
export function manifestsIn(text: string): readonly Exported[] {
  const values = parseAllDocuments(text).map((document) => document.toJS() as Exported | null)
  return values.filter((value) => value !== null)
}

export async function sendObjects(where: TestInstallation, source: string, objects: readonly object[]) {
  const operator = caller(where.plane.url, { authorization: `Bearer ${OPERATOR_TOKEN}` })
  const answer = await operator('POST', '/api/operator/changes', { source, objects })
  if (answer.status !== 200) throw new Error(answer.text)
  return at<Reply[]>(answer.body, 'replies')
}

function secretsFor(text: string): string {
  const secrets = manifestsIn(text).flatMap((resource) => {
    const ref = at<{ name: string; key: string } | undefined>(resource.spec, 'credential', 'secretRef')
    if (resource.kind !== 'Connector' || ref === undefined) return []
    const metadata = { name: ref.name, namespace: resource.metadata.namespace }
    return [
      JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { [ref.key]: 'value' } }),
    ]
  })
  return secrets.join('\n---\n')
}
