import type { AdmittedNamespaces } from './fields.ts'

/** Where a Gateway is, and whom it admits for one kind. */
export type AdmittingGateway = {
  readonly namespace: string
  readonly allowed: AdmittedNamespaces | undefined
}

/** Whether objects of a namespace may name the Gateway. Its own namespace always may. */
export function admits({ namespace: own, allowed }: AdmittingGateway, namespace: string): boolean {
  if (own === namespace) return true
  switch (allowed?.from) {
    case undefined:
    case 'Same':
      return false
    case 'All':
      return true
    case 'Selector':
      return allowed.names.includes(namespace)
  }
}
