import type { Right } from '../../../core/wire/rights.ts'
import { EmptyState } from '../components/layout/empty-state.tsx'
import { PageHead } from '../components/layout/page-head.tsx'
import { useSession } from '../session/session.tsx'

/** Somebody followed a link that is not for their rights: another page instead would only puzzle them. */
export function ForbiddenPage({ title, right }: { readonly title: string; readonly right: Right }) {
  const { user } = useSession()
  return (
    <>
      <PageHead title={title} />
      <EmptyState icon="users" title="Not for your role">
        {title} needs the right {right}; you are signed in as {user.email}, {user.role}. An admin can change
        your role on the page Users.
      </EmptyState>
    </>
  )
}
