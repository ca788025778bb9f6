/** Maps a GraphQL mutation field to the action of the equivalent REST row. */
export type MutationRow = {
  /** Action name without the connector prefix. */
  readonly action: string
  /**
   * Restricts the row to inputs whose member `key` has this value. Without a match, the row of the field without
   * `when` applies.
   */
  readonly when?: { readonly key: string; readonly equals: string }
  /** Parameter name of the REST rows, by input key. */
  readonly parameters: ReadonlyMap<string, string>
  /** True if the code host performs the action later (see `Action.isDeferred`). */
  readonly isDeferred?: true
}

/**
 * Mutation fields that are equivalent to a row of the REST tables, one per line: `FIELD ACTION [?key=VALUE]
 * [input=parameter,…] [@later]`. Delayed merges (auto-merge, merge queue) count as merges. The code host compares the
 * `expectedHeadOid` of an auto-merge only when auto-merge is enabled, and later merges the head commit of that time.
 */
export const MUTATION_TABLE: ReadonlyMap<string, readonly MutationRow[]> = readMutationTable(`
  createPullRequest                 pr.create         title=title,body=body,baseRefName=base,headRefName=head,draft=draft
  revertPullRequest                 pr.create         title=title,body=body,draft=draft
  updatePullRequest                 pr.close          ?state=CLOSED title=title,body=body,state=state,baseRefName=base
  updatePullRequest                 pr.update         title=title,body=body,state=state,baseRefName=base
  closePullRequest                  pr.close
  reopenPullRequest                 pr.update
  markPullRequestReadyForReview     pr.update
  convertPullRequestToDraft         pr.update
  mergePullRequest                  pr.merge          mergeMethod=merge_method,commitHeadline=commit_title,expectedHeadOid=sha
  enablePullRequestAutoMerge        pr.merge          mergeMethod=merge_method,commitHeadline=commit_title @later
  enqueuePullRequest                pr.merge          expectedHeadOid=sha
  updatePullRequestBranch           pr.update_branch
  addPullRequestReview              pr.review         event=event,body=body
  submitPullRequestReview           pr.review         event=event,body=body
  updatePullRequestReview           pr_review.update  body=body
  deletePullRequestReview           pr_review.delete
  dismissPullRequestReview          pr_review.dismiss message=message
  requestReviews                    pr_reviewer.request
  requestReviewsByLogin             pr_reviewer.request userLogins=reviewers,teamSlugs=team_reviewers
  addPullRequestReviewComment       pr_comment.create body=body,path=path
  addPullRequestReviewThread        pr_comment.create body=body,path=path,line=line
  addPullRequestReviewThreadReply   pr_comment.reply  body=body
  updatePullRequestReviewComment    pr_comment.update body=body
  deletePullRequestReviewComment    pr_comment.delete
  createIssue                       issue.create      title=title,body=body,labelIds=labels,assigneeIds=assignees,milestoneId=milestone
  updateIssue                       issue.close       ?state=CLOSED title=title,body=body,state=state
  updateIssue                       issue.update      title=title,body=body,state=state,labelIds=labels,assigneeIds=assignees
  closeIssue                        issue.close       stateReason=state_reason
  reopenIssue                       issue.update
  addComment                        issue_comment.create body=body
  updateIssueComment                issue_comment.update body=body
  deleteIssueComment                issue_comment.delete
  lockLockable                      issue.lock        lockReason=lock_reason
  unlockLockable                    issue.unlock
  addSubIssue                       sub_issue.add     subIssueId=sub_issue_id
  removeSubIssue                    sub_issue.remove  subIssueId=sub_issue_id
  reprioritizeSubIssue              sub_issue.prioritise subIssueId=sub_issue_id
  addAssigneesToAssignable          issue_assignee.add    assigneeIds=assignees
  removeAssigneesFromAssignable     issue_assignee.remove assigneeIds=assignees
  addLabelsToLabelable              issue_label.add       labelIds=labels
  removeLabelsFromLabelable         issue_label.remove    labelIds=labels
  clearLabelsFromLabelable          issue_label.remove_all
  createLabel                       label.create      name=name,color=color
  updateLabel                       label.update      name=new_name,color=color
  deleteLabel                       label.delete
  addReaction                       reaction.create   content=content
  removeReaction                    reaction.delete
  addStar                           star.add
  removeStar                        star.remove
  followUser                        following.add
  unfollowUser                      following.remove
  updateSubscription                subscription.set  state=subscribed
  createRef                         branch.create     name=ref,oid=sha
  updateRef                         branch.update     oid=sha,force=force
  deleteRef                         branch.delete
  mergeBranch                       branch.merge      base=base,head=head,commitMessage=commit_message
  createBranchProtectionRule        branch_protection.update
  updateBranchProtectionRule        branch_protection.update
  deleteBranchProtectionRule        branch_protection.delete
  createRepositoryRuleset           ruleset.create    name=name,enforcement=enforcement
  updateRepositoryRuleset           ruleset.update    name=name,enforcement=enforcement
  deleteRepositoryRuleset           ruleset.delete
  createRepository                  repo.create       name=name,visibility=visibility
  cloneTemplateRepository           repo.create       name=name,visibility=visibility
  updateRepository                  repo.update       name=name,description=description
  archiveRepository                 repo.update
  unarchiveRepository               repo.update
  updateTopics                      repo.replace_topics topicNames=names
  createDeployment                  deployment.create ref=ref,environment=environment
  deleteDeployment                  deployment.delete
  createDeploymentStatus            deployment_status.create state=state,environment=environment
  approveDeployments                deployment.review environmentIds=environment_ids
  rejectDeployments                 deployment.review environmentIds=environment_ids
  createEnvironment                 environment.set
  updateEnvironment                 environment.set   reviewers=reviewers
  deleteEnvironment                 environment.delete
  createCheckRun                    check_run.create  name=name,headSha=head_sha,status=status,conclusion=conclusion
  updateCheckRun                    check_run.update  status=status,conclusion=conclusion
  createCheckSuite                  check_suite.create
  rerequestCheckSuite               check_suite.rerequest
  addProjectV2ItemById              project_item.add
  addProjectV2DraftIssue            project_item.create_draft title=title,body=body
  updateProjectV2ItemFieldValue     project_item.update
  deleteProjectV2Item               project_item.delete
  createProjectV2Field              project_field.create name=name
  deletePackageVersion              package_version.delete
`)

/** Risk of mutation fields without a REST equivalent. A field without an entry has high risk. */
export const MILD: ReadonlyMap<string, 'low' | 'medium'> = new Map([
  ...[
    'addDiscussionComment',
    'createDiscussion',
    'updateDiscussion',
    'updateDiscussionComment',
    'closeDiscussion',
  ].map(low),
  ...[
    'reopenDiscussion',
    'markDiscussionCommentAsAnswer',
    'unmarkDiscussionCommentAsAnswer',
    'addUpvote',
  ].map(low),
  ...[
    'removeUpvote',
    'addDiscussionPollVote',
    'resolveReviewThread',
    'unresolveReviewThread',
    'pinIssue',
  ].map(low),
  ...['unpinIssue', 'minimizeComment', 'unminimizeComment', 'markFileAsViewed', 'unmarkFileAsViewed'].map(
    low,
  ),
  ...[
    'createUserList',
    'updateUserList',
    'updateUserListsForItem',
    'changeUserStatus',
    'createLinkedBranch',
  ].map(low),
  ...['linkProjectV2ToRepository', 'unlinkProjectV2FromRepository', 'updateProjectV2ItemPosition'].map(low),
  ...['clearProjectV2ItemFieldValue', 'archiveProjectV2Item', 'unarchiveProjectV2Item'].map(low),
  ...['createCommitOnBranch', 'updateRefs', 'disablePullRequestAutoMerge', 'dequeuePullRequest'].map(medium),
  ...['createProjectV2', 'updateProjectV2', 'copyProjectV2', 'updateProjectV2Field'].map(medium),
  ...[
    'updateProjectV2DraftIssue',
    'convertProjectV2DraftIssueItemToIssue',
    'createIssueField',
    'setIssueFieldValue',
  ].map(medium),
  ...['transferIssue', 'linkRepositoryToProject', 'unlinkRepositoryFromProject', 'importProject'].map(medium),
])

function low(field: string): readonly [string, 'low'] {
  return [field, 'low']
}

function medium(field: string): readonly [string, 'medium'] {
  return [field, 'medium']
}

function readMutationTable(table: string): ReadonlyMap<string, readonly MutationRow[]> {
  const lines = table
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  return Map.groupBy(lines.map(readMutationRow), ({ field }) => field)
}

function readMutationRow(line: string): MutationRow & { readonly field: string } {
  const [field = '', action = '', ...rest] = line.split(/\s+/)
  const condition = rest.find((column) => column.startsWith('?'))
  const [key = '', equals = ''] = condition?.slice(1).split('=') ?? []
  const pairs = rest.find((column) => !/^[?@]/.test(column))?.split(',') ?? []
  const parameters = new Map(
    pairs.map((pair) => {
      const [from = '', to = ''] = pair.split('=')
      return [from, to]
    }),
  )
  return {
    field,
    action,
    parameters,
    ...(condition === undefined ? {} : { when: { key, equals } }),
    ...(rest.includes('@later') ? { isDeferred: true } : {}),
  }
}
