import type { Right } from '../../../core/wire/access/rights.ts'
import { EmptyState } from '../components/layout/empty-state.tsx'
import { PageHead } from '../components/layout/page-head.tsx'
import { useSession } from '../session/session.tsx'

/** Renders a notice in place of a page that the user has no right to. */
export function ForbiddenPage({ title, right }: { readonly title: string; readonly right: Right }) {
  const { user } = useSession()
  return (
    <>
      <PageHead title={title} />
      <EmptyState icon="users" title="Permission denied">
        {title} requires the right {right}. You are signed in as {user.email} with the role {user.role}. An
        admin can change your role on the page Users.
      </EmptyState>
    </>
  )
}
