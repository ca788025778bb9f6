import { useQueryState } from '../../routing/use-page-location.ts'
import { PolicyEditor } from './policy-editor.tsx'
import { PolicyList } from './policy-list.tsx'

/** Shows the list of policies, or the editor of the policy that the URL names. */
export function Page() {
  const [query] = useQueryState()
  const chosen = query['policy']
  return chosen === undefined ? <PolicyList /> : <PolicyEditor key={chosen} id={chosen} />
}
