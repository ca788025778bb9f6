import type { FindRules, FoundMembers } from '../../request/json/member-finder.ts'
import type { UploadFacts } from '../fields/body-readers.ts'
import { type Handle, MAX_UPLOADED_HANDLES } from '../handles/handle.ts'
import type { ProviderAct } from './kinds.ts'
import { addActs, foundActs } from './read.ts'
import type { CompiledTable } from './table.ts'

/**
 * Rules by which an upload is searched. `handlesIn` returns the handles (ids of provider resources) in found members.
 */
export type UploadRules = {
  readonly table: CompiledTable
  readonly find: FindRules
  readonly handlesIn: (found: FoundMembers) => readonly Handle[]
}

/**
 * Collects the provider-side acts and the handles (ids of provider resources) in the parts of one upload, each once.
 */
export class UploadFindings {
  readonly #rules: UploadRules
  readonly #acts = new Map<string, ProviderAct>()
  readonly #handles = new Map<string, Handle>()

  constructor(rules: UploadRules) {
    this.#rules = rules
  }

  add(all: readonly FoundMembers[]): void {
    for (const found of all) {
      addActs(this.#acts, foundActs(this.#rules.table, found))
      // The number of handles exceeds the limit, so the caller refuses the request. Further handles do not matter.
      if (this.#handles.size > MAX_UPLOADED_HANDLES) continue
      for (const handle of this.#rules.handlesIn(found))
        this.#handles.set(`${handle.kind} ${handle.id}`, handle)
    }
  }

  /**
   * Returns the acts that were found so far, and `unread`: the act for a part that cannot be read. The result states no
   * handles, because this part may name any handle.
   */
  with(unread: ProviderAct): UploadFacts {
    return { acts: [...this.#acts.values(), unread], handles: 'unread' }
  }

  facts(): UploadFacts {
    return { acts: [...this.#acts.values()], handles: [...this.#handles.values()] }
  }
}
