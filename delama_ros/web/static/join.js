// Tells somebody who came back from a wrong code that it was wrong.
if (new URLSearchParams(location.search).has('wrong')) {
  document.getElementById('wrong').hidden = false;
}
