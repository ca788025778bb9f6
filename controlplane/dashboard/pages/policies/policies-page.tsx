import { useQueryState } from '../../routing/use-page-location.ts'
import { PolicyEditor } from './policy-editor.tsx'
import { PolicyList } from './policy-list.tsx'

/** Shows the list, or the policy in the URL. */
export function Page() {
  const [query] = useQueryState()
  const chosen = query['policy']
  return chosen === undefined ? <PolicyList /> : <PolicyEditor key={chosen} id={chosen} />
}
