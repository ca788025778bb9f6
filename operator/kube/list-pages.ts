import type { KubeClient } from './client.ts'
import type { KubeObject } from './objects.ts'

export type Selection = {
  readonly path: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  /** True to read PartialObjectMetadata, which has neither spec nor status. */
  readonly metadataOnly?: boolean
}
export type Listed<T> = { readonly items: readonly T[]; readonly resourceVersion: string }

type Page<T> = {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
  /**
   * Objects of the page. Null for an empty list of PartialObjectMetadata, which the API server sends instead of `[]`.
   */
  readonly items: readonly T[] | null
}

const PAGE = 500
const PAGE_TIMEOUT_MS = 60_000

/** Lists all objects in pages of 500. Rejects when any page fails: an incomplete list would look like deletions. */
export async function listPages<T extends KubeObject>(
  client: Pick<KubeClient, 'call'>,
  { path, labelSelector, fieldSelector, metadataOnly = false }: Selection,
  signal: AbortSignal,
): Promise<Listed<T>> {
  const items: T[] = []
  let continued: string | undefined
  for (;;) {
    const page: Page<T> = await client.call({
      method: 'GET',
      path,
      query: { limit: PAGE, continue: continued, labelSelector, fieldSelector },
      ...(metadataOnly ? { metadata: 'list' as const } : {}),
      signal,
      timeoutMs: PAGE_TIMEOUT_MS,
    })
    items.push(...(page.items ?? []))
    continued = page.metadata.continue
    if (continued === undefined || continued === '')
      return { items, resourceVersion: page.metadata.resourceVersion }
  }
}

/**
 * Lists all objects in one request that the API server answers from its cache. The list can be older than the newest
 * state.
 */
export async function listCached<T extends KubeObject>(
  client: Pick<KubeClient, 'call'>,
  { path, labelSelector, fieldSelector }: Selection,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Listed<T>> {
  const query = { resourceVersion: '0', labelSelector, fieldSelector }
  const { items, metadata } = await client.call<Page<T>>({ method: 'GET', path, query, signal, timeoutMs })
  return { items: items ?? [], resourceVersion: metadata.resourceVersion }
}
