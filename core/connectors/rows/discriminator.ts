/**
 * Condition that selects one row among the rows of one method and path. `equals` compares strictly (only boolean true
 * equals true); `present: 'string'` requires a string under the key; `otherwise` applies if no other row does.
 */
export type Discriminator =
  | { readonly key: string; readonly in: 'query'; readonly equals: string }
  | { readonly key: string; readonly equals: string | boolean }
  | { readonly key: string; readonly present: 'string' }
  | { readonly key: string; readonly otherwise: true }
