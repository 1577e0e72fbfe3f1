// Names of accounts, posts and communities as links: their titles if they have one, with the name as a tooltip.
import { html } from "../html.js";
import { Link, path } from "../router.js";
import { useCommunityTitle, useMemberTitles, usePostTitle } from "../titles.js";
import { ALL_OTHERS, AllOthers } from "./fork.js";
import { Exact, Title } from "./text.js";

export function Account({ name }) {
  const title = useCommunityTitle(name ?? "");
  if (name === ALL_OTHERS) return html`<${AllOthers} />`;
  if (title) return html`<${CommunityName} name=${name} title=${title} />`;
  return name ? html`<${AccountLink} name=${name} />` : "nobody";
}

// An account by its name, even if it is a community.
export function AccountLink({ name }) {
  return html`<${Link} class="account" to=${path.account(name)}>${name}</${Link}>`;
}

// A community by its title, which is looked up unless it is given.
export function CommunityName({ name, title }) {
  const found = useCommunityTitle(title ? "" : name);
  return html`<${Link} class="account" to=${path.community(name)} title=${name}><${Title} of=${title || found || ""} nothing=${name} /></${Link}>`;
}

// A post by its title, which is looked up unless it is given. A reply without a title is named after the first post of its discussion.
export function PostName({ author, permlink, hasAuthor = true, title }) {
  const found = usePostTitle(author, title === undefined ? permlink : "");
  const [own, root] = [title ?? found?.title, found?.root_title].map((text) => text?.trim());
  const name = `${author}/${permlink}`;
  const link = (words) => html`<${Link} class="post" to=${path.post(author, permlink)} title=${name}>${words}</${Link}>`;
  if (!own && !root) return link(html`<${Exact} of=${name} />`);
  return html`
    ${link(own ? html`<${Title} of=${own} />` : html`a reply to <${Title} of=${root} />`)}${hasAuthor && html`${" by "}<${Account} name=${author} />`}
  `;
}

// The title that a community has given to an account.
export function MemberTitle({ of, community }) {
  const title = useMemberTitles(community).get(of);
  return title ? html` <span class="badge"><${Title} of=${title} /></span>` : null;
}
